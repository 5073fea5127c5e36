#!/bin/bash
# inside.sh: called by run.sh inside fresh namespaces, as root. Starts the manager and the checks as a user.
set -euo pipefail

not_run() { echo "not run: the systemd units ($1)"; exit 77; }

# A cgroup namespace shows the delegated group as the root; the manager gets a child of it for its own.
mount -t cgroup2 none /sys/fs/cgroup || not_run "cgroup2 cannot be mounted"
mkdir -p /sys/fs/cgroup/manager
echo $$ > /sys/fs/cgroup/manager/cgroup.procs
chown -R "$TEST_USER:$TEST_USER" /sys/fs/cgroup/manager

# What the manager expects of a booted system: /run/systemd/system, and nodes to hide paths behind.
mkdir -p /run/systemd
mount -t tmpfs tmpfs /run/systemd || not_run "a tmpfs cannot be mounted"
mkdir -p /run/systemd/system /run/systemd/inaccessible/dir
touch /run/systemd/inaccessible/reg
mkfifo /run/systemd/inaccessible/fifo
mknod /run/systemd/inaccessible/chr c 0 0 || true
mknod /run/systemd/inaccessible/blk b 0 0 || true

# Older managers look for these nodes by the user's number, wherever the runtime folder is.
mkdir -p /run/user
mount -t tmpfs tmpfs /run/user
mkdir "/run/user/$TEST_USER"
mount --bind "$ROOT/run" "/run/user/$TEST_USER"

unset DBUS_SESSION_BUS_ADDRESS NOTIFY_SOCKET LISTEN_FDS LISTEN_PID XDG_STATE_HOME XDG_CONFIG_HOME
export HOME="$ROOT/home" XDG_RUNTIME_DIR="$ROOT/run"
exec setpriv --reuid "$TEST_USER" --regid "$TEST_USER" --clear-groups bash -c '
"$MANAGER" --user 2>"$ROOT/manager.log" &
for _ in $(seq 100); do [ -S "$XDG_RUNTIME_DIR/systemd/private" ] && break; sleep 0.1; done
[ -S "$XDG_RUNTIME_DIR/systemd/private" ] || { echo "not run: the systemd units (no user manager: $(tail -n 1 "$ROOT/manager.log"))"; exit 77; }
bash "$ROOT/checks.sh"'
