#!/bin/sh
# build_wheel.sh FOLDER: the wheel of the source tree that this script lies in, into FOLDER.
set -eu
cd "$(dirname "$0")/../.."
python3 -m pip wheel --no-cache-dir --no-deps -w "$1" .
