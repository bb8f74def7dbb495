"""From paths to files, manifests and schemas."""
