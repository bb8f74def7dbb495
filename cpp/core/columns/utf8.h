// UTF-8 as Python and Rust define it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

bool is_utf8(std::span<const std::byte> text);

}  // namespace penstock
