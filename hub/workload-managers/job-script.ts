/** The script that a job runs, the same for every workload manager. */
import type { AllocationSettings } from '../core/hosts/host-recipe.js';
import { shellWord } from './shell-words.js';

/** Names of the files in the folder of an allocation. */
export const ALLOCATION_FILES = {
  credential: 'credential',
  config: 'agent.json',
  script: 'job.sh',
  output: 'output',
} as const;

/**
 * Text of the script for the allocation whose files are in `folder`. A workload manager ends a job by a signal to the script alone, or to
 * all processes of the job. The agent must get SIGTERM once: a second one ends it at once. So a child that only sleeps, the canary,
 * tells whether the agent got the signal, too.
 */
export function jobScript({ scratch, agentCommand }: AllocationSettings, folder: string): string {
  const agent = [...agentCommand, '--config', `${folder}/${ALLOCATION_FILES.config}`]
    .map(shellWord)
    .join(' ');
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expansion of the shell.
  const base = scratch === null ? '"${TMPDIR:-/tmp}"' : shellWord(scratch);
  return `#!/bin/sh
# Job of Workbench Hub: runs an agent, hands signals on to it, and removes its data and that of jobs that were killed here.
umask 077
# HTCondor gives none, and the shell keeps its own to itself.
export PATH
exec >>${shellWord(`${folder}/${ALLOCATION_FILES.output}`)} 2>&1 </dev/null
agent=
canary=
scratch=
sweeper=
asked=
stop() {
  asked=yes
  [ -n "$agent" ] || return 0
  # The others have their signal a moment later.
  sleep 1
  [ "$1" != TERM ] || kill -0 "$canary" 2>/dev/null || return 0
  kill -TERM "$agent" 2>/dev/null
}
for signal in TERM INT HUP USR1 USR2; do trap "stop $signal" "$signal"; done
# Folders of jobs that were killed on this host: older than an hour, and nobody holds their lock.
sweep() {
  command -v flock && find "$base" -maxdepth 1 -user "$(id -u)" -name "$prefix.*" -mmin +60 | while read -r left; do
    flock --nonblock "$left/.job-lock" sh -c 'chmod -R u+rwX "$1"; rm -rf "$1"' sh "$left"
  done
}
clean() {
  [ -z "$canary" ] || { kill -KILL "$canary"; wait "$canary"; } 2>/dev/null
  [ -z "$sweeper" ] || wait "$sweeper"
  [ -z "$scratch" ] && return 0
  rm -rf "$scratch" 2>/dev/null || { chmod -R u+rwX "$scratch"; rm -rf "$scratch"; }
}
trap clean EXIT
base=${base}
prefix=workbench-agent.$(uname -n)
scratch=$(mktemp -d "$base/$prefix.XXXXXXXX") || { echo "no folder can be made in $base on $(uname -n)"; exit 73; }
cd "$scratch" || exit 73
# Held by this script and the agent, as long as one of them lives.
exec 9>.job-lock
! command -v flock >/dev/null || flock --nonblock 9
[ -z "$asked" ] || exit 0
WORKBENCH_AGENT_DATA_DIR=$scratch ${agent} &
agent=$!
sleep 2147483647 >/dev/null 2>&1 9>&- &
canary=$!
sweep >/dev/null 2>&1 9>&- &
sweeper=$!
[ -z "$asked" ] || kill -TERM "$agent" 2>/dev/null
# A signal ends the wait before the agent has ended.
while wait "$agent"; code=$?; [ "$code" -gt 128 ] && kill -0 "$agent" 2>/dev/null; do :; done
exit "$code"
`;
}
