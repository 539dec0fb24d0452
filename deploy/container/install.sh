#!/bin/sh
# install.sh WHEELS TARGET: a virtual environment TARGET with the wheel in folder WHEELS, what it needs, and no pip.
set -eu
python3 -m venv "$2"
"$2/bin/python" -m pip install --no-cache-dir --disable-pip-version-check "$1"/vfxgb-*.whl
# It has to work before anything of it is kept: keys, ciphertexts and kernels are tried.
"$2/bin/vfxgb" --version
"$2/bin/python" -m vfxgb.kernels
"$2/bin/python" -m pip uninstall -q -y pip
