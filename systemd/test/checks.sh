#!/bin/bash
# checks.sh: called by inside.sh as an ordinary user with a running user manager.
set -euo pipefail

units="$HOME/.config/systemd/user"
socket="$XDG_RUNTIME_DIR/longhaul/v1.sock"
agents="$XDG_RUNTIME_DIR/longhaul/v1.agents.sock"

ask() { python3 "$ROOT/ask.py" "$@" 2>/dev/null; }
property() { systemctl --user show -P "$1" "${2:-longhauld.service}"; }
passed() { echo "ok: $1"; }
fail() { echo "FAILED: $1"; systemctl --user status longhauld.service --no-pager 2>/dev/null || true; exit 1; }
# eventually WHAT COMMAND…: waits for the command to hold, at most 20 s.
eventually() {
    local what=$1; shift
    for _ in $(seq 200); do "$@" && return; sleep 0.1; done
    fail "$what"
}
answers() { ask daemon/status pid >/dev/null; }
answers_as_another() { local now; now=$(ask daemon/status pid) && [ "$now" != "$1" ]; }
is() { [ "$(property "$1")" = "$2" ]; }

# 1. The units are right as they are shipped.
said=$(systemd-analyze --user verify "$units/longhauld.socket" "$units/longhauld.service" 2>&1) || fail "verify: $said"
[ -z "$said" ] || fail "verify says: $said"
systemd-analyze --user security --offline=true --threshold=25 "$units/longhauld.service" >/dev/null || fail "the service is not hardened"
passed "systemd-analyze verify and security"

# For the tests: a watchdog that bites soon, and a log to look at.
mkdir -p "$units/longhauld.service.d"
cat > "$units/longhauld.service.d/test.conf" <<END
[Unit]
StartLimitBurst=100
[Service]
WatchdogSec=2
TimeoutAbortSec=1
RestartSec=100ms
StandardError=append:$ROOT/daemon.log
END
systemctl --user daemon-reload

# 2. The socket is there before the daemon, and the first client starts it.
systemctl --user start longhauld.socket
is ActiveState inactive || fail "the daemon runs before anyone asked"
[ "$(stat -c %a "$socket")" = 600 ] && [ "$(stat -c %a "$(dirname "$socket")")" = 700 ] || fail "the socket is not private"
pid=$(ask daemon/status pid) || fail "no answer on the socket of systemd"
[ "$pid" = "$(property MainPID)" ] || fail "somebody else answered"
[ "$(stat -c %a "$agents")" = 600 ] || fail "the agents' socket is not private"
[ "$(LONGHAUL_SOCKET="$agents" ask daemon/status pid)" = "$pid" ] || fail "no answer on the agents' socket"
! LONGHAUL_SOCKET="$agents" ask daemon/shutdown pid || fail "an agent may stop the daemon"
folder_told_by() { python3 "$ROOT/folder.py" "$agents" || fail "an agent that states its folder is not answered"; }
teller=$(folder_told_by)
[ "$teller" = agent ] || fail "in its namespace the daemon takes an agent's folder from $teller"
mkdir -p "$HOME/.config/longhaul"
printf '[server]\ntrust_stated_folder = false\n' > "$HOME/.config/longhaul/config.toml"
systemctl --user stop longhauld.service
[ "$(folder_told_by)" = nobody ] || fail "an agent's own word for its folder is believed where the person refuses it"
rm "$HOME/.config/longhaul/config.toml"
systemctl --user stop longhauld.service
pid=$(ask daemon/status pid) || fail "no answer after a stop"
passed "socket activation, of both sockets; an agent's word for its folder counts unless the person refuses it"

# 3. READY and STATUS arrived.
is ActiveState active || fail "not ready"
[[ "$(property StatusText)" = "listening on $socket" ]] || fail "status: $(property StatusText)"
[ "$(ask daemon/status state_dir)" = "$HOME/.local/state/longhaul" ] || fail "the state folder is elsewhere"
passed "readiness"

# 3b. The sandbox is there: a manager that cannot make it must not pass over it in silence.
[ "$(readlink "/proc/$pid/ns/user")" != "$(readlink /proc/self/ns/user)" ] || fail "the service has no namespace of its own"
[ -e "/proc/$pid/root$HOME/.local" ] || fail "the service's view of the home cannot be looked at"
[ ! -e "/proc/$pid/root$HOME/.ssh/key" ] || fail "the service can read ~/.ssh"
passed "namespaces of its own, and no keys in them"

# 4. A daemon that is well is not bitten; one that hangs is replaced.
fed() { [ "$(property WatchdogTimestampMonotonic)" != "$1" ]; }
for _ in 1 2 3 4; do eventually "the watchdog is fed" fed "$(property WatchdogTimestampMonotonic)"; done
[ "$(ask daemon/status pid)" = "$pid" ] || fail "the watchdog bit a daemon that was well"
kill -STOP "$pid"
eventually "a hung daemon is replaced" answers_as_another "$pid"
[ "$(property NRestarts)" -ge 1 ] || fail "not restarted by the watchdog"
passed "watchdog restart"

# 5. A daemon that was killed is replaced.
pid=$(ask daemon/status pid)
kill -KILL "$pid"
eventually "a killed daemon is replaced" answers_as_another "$pid"
passed "kill -9 restart"

# 6. Stopping the service leaves the socket, and the next client starts it again.
systemctl --user stop longhauld.service 2>/dev/null
is ActiveState inactive || fail "not stopped"
is Result success || fail "stopped with $(property Result)"
[ "$(property ActiveState longhauld.socket)" = active ] && [ -S "$socket" ] || fail "the socket went with the service"
answers || fail "not started again by the next client"
passed "stop with the socket still active"

# 7. daemon/shutdown is no failure: it stays down until it is asked for.
ask daemon/shutdown pid >/dev/null || fail "shutdown was not answered"
eventually "the daemon ends" is ActiveState inactive
is Result success || fail "ended with $(property Result)"
answers || fail "not started again after a shutdown"
passed "shutdown over the socket"

# 8. A second daemon on the same state is refused, and says by whom it is held.
pid=$(ask daemon/status pid)
code=0
said=$("$HOME/.local/bin/longhauld" 2>&1) || code=$?
[ $code = 75 ] && [[ "$said" = *"process $pid"* ]] || fail "a second daemon: $code $said"
passed "a second daemon is refused"

# 9. Gone is gone.
systemctl --user stop longhauld.socket longhauld.service
[ ! -e "$socket" ] && [ ! -e "$agents" ] || fail "a socket is left behind"
passed "stopped"

# 10. The command line installs the units for this very manager, and takes them out again.
longhaul="$HOME/.local/bin/longhaul"
if [ ! -x "$longhaul" ]; then
    echo "not run: longhaul install systemd (longhaul is not built)"
    exit 0
fi
rm -r "$units"/longhauld.*
systemctl --user daemon-reload
said=$("$longhaul" install systemd --yes) || fail "install systemd: $said"
[ "$(property ActiveState longhauld.socket)" = active ] && [ -S "$socket" ] || fail "the installed socket does not listen"
is ActiveState inactive || fail "the installation started the daemon"
said=$("$longhaul" status) || fail "status after the installation: $said"
is ActiveState active || fail "the first client did not start the installed daemon"
[[ "$("$longhaul" doctor)" = *"units"*"installed"* ]] || fail "doctor does not see the units"
[[ "$("$longhaul" install systemd --yes)" = "nothing to change"* ]] || fail "a second installation changes something"

# 10a. From its namespaces the daemon sees a repository, and reaches the model that is configured.
work="$HOME/work" thread=019cadd3-0000-7000-8000-0000000000f1 port=$((20000 + RANDOM % 10000))
git -c init.defaultBranch=topic init -q "$work"
sessions="$HOME/.codex/sessions/2026/01/02"
mkdir -p "$sessions"
{
    printf '{"timestamp":"2026-01-02T00:00:00.000Z","type":"session_meta","payload":{"id":"%s","timestamp":"2026-01-02T00:00:00.000Z","cwd":"%s","originator":"codex_cli_rs","cli_version":"0.150.0","source":"cli"}}\n' $thread "$work"
    for step in $(seq 40); do
        for role in user assistant; do
            kind=$([ $role = user ] && echo input_text || echo output_text)
            printf '{"timestamp":"2026-01-02T00:00:%02d.000Z","type":"response_item","payload":{"type":"message","role":"%s","content":[{"type":"%s","text":"Step %d of the parser: %s"}]}}\n' "$step" $role "$kind" "$step" "$(printf 'the tests of this step pass; %.0s' $(seq 20))"
        done
    done
} > "$sessions/rollout-2026-01-02T00-00-00-$thread.jsonl"
cat > "$HOME/.config/longhaul/config.toml" <<END
[model]
provider = "here"
name = "m"
[providers.here]
kind = "chat"
base_url = "http://127.0.0.1:$port/v1"
END
python3 "$ROOT/outside.py" --serve "$port" &
said=$("$longhaul" install systemd --yes) || fail "install systemd with a model: $said"
systemctl --user restart longhauld.service
said=$(python3 "$ROOT/outside.py" $thread | tr '\n' ' ') || fail "asked for a repository and a summary: $said"
[ "$said" = "topic hybrid " ] || fail "git and a model from the namespaces: $said"
kill %%
is_archived() { "$longhaul" archive list 2>/dev/null | grep -q "${thread:0:13}"; }
eventually "the thread is archived" is_archived
rm "$sessions"/*
said=$("$longhaul" archive restore $thread 2>&1) || fail "a thread is not restored: $said"
[ -s "$sessions/rollout-2026-01-02T00-00-00-$thread.jsonl" ] || fail "the restored thread is not there: $said"
said=$("$longhaul" archive restore $thread --to "$HOME/copy.jsonl" 2>&1) && fail "the service writes into the home"
[[ "$said" = *ReadWritePaths* ]] || fail "a copy is refused: $said"
passed "git in its sandbox, a configured model, and a thread restored"

# 10b. The port of the gateway is there before it and outlives it; it may reach the network (where nobody is: 502).
if [ -x "$HOME/.local/bin/longhaul-gateway" ]; then
    settings="$HOME/.local/state/longhaul/gateway.json"
    gateway_says() { python3 "$ROOT/gateway.py" "$settings" | tr '\n' ' '; }
    gateway_pid() { property MainPID longhaul-gateway.service; }
    mkdir -p "$HOME/.codex"
    printf 'openai_base_url = "http://127.0.0.1:9/v1"\n' > "$HOME/.codex/config.toml"
    said=$("$longhaul" install codex --gateway --yes) || fail "install codex --gateway: $said"
    [ "$(gateway_pid)" = 0 ] || fail "the installation started the gateway"
    said=$(gateway_says)
    [ "$said" = "$(gateway_pid) 502 " ] || fail "the gateway says: $said"
    pid=$(gateway_pid)
    [ "$(readlink "/proc/$pid/ns/user")" != "$(readlink /proc/self/ns/user)" ] || fail "the gateway has no namespace of its own"
    kill -KILL "$pid"
    said=$(gateway_says)
    [ "$said" = "$(gateway_pid) 502 " ] && [ "$(gateway_pid)" != "$pid" ] || fail "a killed gateway is not replaced: $said"
    said=$("$longhaul" uninstall codex --gateway --yes) || fail "uninstall codex --gateway: $said"
    [[ "$(head -n 1 "$HOME/.codex/config.toml")" = *'"http://127.0.0.1:9/v1"' ]] || fail "the provider's address is not back"
    [ ! -e "$settings" ] && [ ! -e "$units/longhaul-gateway.socket" ] || fail "the uninstallation leaves something"
    kill "$(gateway_pid)"
    passed "longhaul install codex --gateway and uninstall"
else
    echo "not run: longhaul install codex --gateway (it is not built)"
fi

said=$("$longhaul" uninstall systemd --yes) || fail "uninstall systemd: $said"
[ ! -e "$units/longhauld.service" ] && [ ! -e "$socket" ] || fail "the uninstallation leaves something"
is ActiveState inactive || fail "the daemon outlives its units"
passed "longhaul install systemd and uninstall"
