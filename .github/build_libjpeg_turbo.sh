#!/usr/bin/env bash
# Builds libjpeg-turbo for the wheels, which link it statically:  build_libjpeg_turbo.sh PREFIX
set -euo pipefail
version=3.0.4
folder=$(mktemp -d)
git clone --quiet --depth 1 --branch "$version" https://github.com/libjpeg-turbo/libjpeg-turbo "$folder/source"
cmake -S "$folder/source" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$1" -DENABLE_SHARED=OFF \
    -DWITH_TURBOJPEG=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DREQUIRE_SIMD=ON
cmake --build "$folder/build" --config Release --parallel
cmake --install "$folder/build" --config Release
