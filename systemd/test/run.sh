#!/bin/bash
# run.sh LONGHAULD: the units under a real `systemd --user` manager.
#
# Sets up, in mount, cgroup and process namespaces of its own, what user@.service gives a user manager: a
# delegated cgroup, a runtime folder, a home. Then runs checks.sh in there as an ordinary user. Nothing outside the
# namespaces is changed but one cgroup and one folder, both removed at the end.
#
# Exit code 0: all checks hold. 77: not run, something it needs is missing. Else: a check failed.
set -euo pipefail

not_run() { echo "not run: the systemd units ($1)"; exit 77; }

binary=$(realpath "${1:?usage: run.sh LONGHAULD}")
here=$(dirname "$(realpath "$0")")
manager=/lib/systemd/systemd

[ "$(uname)" = Linux ] || not_run "not Linux"
[ "$(id -u)" = 0 ] || not_run "root is needed to set up a user manager"
[ -x $manager ] || not_run "no systemd"
for tool in unshare setpriv systemctl systemd-analyze python3; do
    command -v $tool >/dev/null || not_run "no $tool"
done
for cgroups in /sys/fs/cgroup/unified /sys/fs/cgroup none; do
    [ -e "$cgroups/cgroup.procs" ] && break
done
[ "$cgroups" != none ] || not_run "no cgroup v2 hierarchy"

user=1000
# Not under /tmp: a service may have a /tmp of its own.
root=$(mktemp -d /var/lib/longhaul-test.XXXXXX)
group="$cgroups/longhaul-test-$$"
mkdir "$group" 2>/dev/null || { rm -rf "$root"; not_run "cgroups are read-only here"; }
cleanup() {
    # Processes of the namespace are gone with its init; the cgroups need a moment to notice.
    for _ in $(seq 50); do
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && break
        sleep 0.1
    done
    rm -rf "$root"
}
trap cleanup EXIT

mkdir -p "$root/home/.ssh" "$root/home/.local/bin" "$root/home/.config/systemd/user" "$root/run"
echo secret > "$root/home/.ssh/key"
chmod 755 "$root"
chmod 700 "$root/run"
cp "$binary" "$root/home/.local/bin/longhauld"
# What belongs beside it, where it is built: the command line and the gateway install their units themselves then.
for program in longhaul longhaul-gateway longhaul-curator; do
    beside=$(dirname "$binary")/$program
    [ ! -x "$beside" ] || cp "$beside" "$root/home/.local/bin/$program"
done
cp "$here"/../longhauld.{socket,service} "$root/home/.config/systemd/user/"
cp "$here"/*.py "$here/checks.sh" "$root/"
chown -R $user:$user "$root"

export ROOT=$root MANAGER=$manager TEST_USER=$user TEST_GROUP=$group
set +e
bash -c 'echo $$ > "$TEST_GROUP/cgroup.procs" || exit 77
exec unshare --mount --cgroup --pid --fork --kill-child --mount-proc --propagation private bash "$0"' "$here/inside.sh"
code=$?
set -e
if [ $code != 0 ] && [ $code != 77 ]; then
    echo "--- manager"; tail -n 40 "$root/manager.log" 2>/dev/null
    echo "--- daemon"; tail -n 40 "$root/daemon.log" 2>/dev/null
fi
exit $code
