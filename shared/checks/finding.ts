/** Results of the checks of `--check-config` and `doctor`, of hub and agent. */

/** Result of one check of a program or its machine, for its operator. */
export interface Finding {
  /** Subject of the check. */
  readonly check: string;
  /** FAULT: the program does not work, or data is lost; WARNING: that will happen unless something is done. */
  readonly state: 'OK' | 'WARNING' | 'FAULT';
  readonly message: string;
  readonly advice?: string;
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'OK', message });

export const warning = (check: string, message: string, advice: string): Finding => ({
  check,
  state: 'WARNING',
  message,
  advice,
});

export const fault = (check: string, message: string, advice: string): Finding => ({
  check,
  state: 'FAULT',
  message,
  advice,
});

/** Fault whose message contains the remedy. */
export const faultWithRemedy = (check: string, message: string): Finding => ({
  check,
  state: 'FAULT',
  message,
});

/** True when nothing is wrong that prevents the program from working. */
export function isSound(findings: readonly Finding[]): boolean {
  return findings.every(({ state }) => state !== 'FAULT');
}

/** The findings of one state, one sentence each, with the remedy. */
export function sentencesOf(findings: readonly Finding[], wanted: Finding['state']): string[] {
  return findings
    .filter(({ state }) => state === wanted)
    .map(({ check, message, advice }) => `${check}: ${message}${advice === undefined ? '' : `: ${advice}`}`);
}

/** All findings as a text of lines, or as JSON. */
export function reportOf(findings: readonly Finding[], json: boolean): string {
  if (json) return JSON.stringify({ ok: isSound(findings), findings }, null, 2);
  return findings
    .flatMap(({ state, check, message, advice }) => [
      `${SHOWN[state].padEnd(8)} ${check}: ${message}`,
      ...(advice === undefined ? [] : [`${' '.repeat(9)}-> ${advice}`]),
    ])
    .join('\n');
}

const SHOWN: Readonly<Record<Finding['state'], string>> = { OK: 'ok', WARNING: 'WARNING', FAULT: 'FAULT' };
