#!/bin/sh
# Install fatt for development: install.sh ENVIRONMENT WHAT GROUP
#
# The kernels are built into build/ENVIRONMENT, and again when they change. Where no C
# compiler is found, one is taken from the package index into the environment. The build
# folder remembers it by a file, since it is configured anew when a meson.build changes.
set -eu
folder=$1 what=$2 group=$3
shift 3
bin="$PWD/$folder/bin"
"$bin/python" -m pip install -q --group build
PATH="$bin:$PATH"
CYTHON="$bin/cython"
NINJA="$bin/ninja"
export PATH CYTHON NINJA
if [ -z "${CC:-}" ] && ! command -v cc >/dev/null && ! command -v gcc >/dev/null \
    && ! command -v clang >/dev/null; then
    "$bin/python" -m pip install -q ziglang
    # Where there is no compiler, there is no archiver either, which meson asks for.
    for tool in cc ar; do
        printf '#!/bin/sh\nexec "%s/python" -m ziglang %s "$@"\n' "$bin" "$tool" \
            >"$bin/zig-$tool"
        chmod +x "$bin/zig-$tool"
    done
    printf "[binaries]\nc = '%s/zig-cc'\nar = '%s/zig-ar'\n" "$bin" "$bin" \
        >"$bin/zig.ini"
    set -- "$@" "-Csetup-args=--native-file=$bin/zig.ini"
fi
exec "$bin/python" -m pip install -q --no-build-isolation \
    -Cbuild-dir="build/$folder" -e "$what" --group "$group" "$@"
