/** Result of one check of a hub, for its operator. */
export interface Finding {
  /** Subject of the check. */
  readonly check: string;
  /** FAULT: the hub does not work, or data is lost; WARNING: that will happen unless something is done. */
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
