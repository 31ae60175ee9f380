#!/bin/sh
# Builds the layer in the folder `layer`: sh build-layer.sh [<what npm installs>…]. Zip its content, the folder `nodejs`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- tritonts onnxruntime-node
rm -rf "$here/layer"
mkdir -p "$here/layer/nodejs"
echo '{ "private": true }' > "$here/layer/nodejs/package.json"
# Without this the install script of onnxruntime-node may download CUDA files.
export ONNXRUNTIME_NODE_INSTALL=skip
npm install --prefix "$here/layer/nodejs" --omit=dev --no-audit --no-fund --no-package-lock "$@"
# A layer and its function may have 250 MB together. Only the library of Linux is needed.
cd "$here/layer/nodejs/node_modules/onnxruntime-node/bin"
find . -mindepth 2 -maxdepth 2 -type d ! -name linux -exec rm -r {} +
