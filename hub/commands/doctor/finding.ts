/** What a look at a hub has found, for a person who has to do something about it. */
export interface Finding {
  /** What was looked at. */
  readonly check: string;
  /** FAULT: the hub does not work, or something is lost; WARNING: it will be so if nothing is done. */
  readonly state: 'OK' | 'WARNING' | 'FAULT';
  readonly message: string;
  /** What to do. */
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
