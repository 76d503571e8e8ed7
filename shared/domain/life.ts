/** A life as a table: which steps there are, from which state to which each leads, and who takes it. Nothing else happens.
 *  The state `-` is that of what is not there: not yet, or no more. */
export interface Step<State extends string> {
  readonly from: readonly State[];
  /** More than one where what is told with the step decides. */
  readonly to: readonly State[];
  /** Who or what takes it, in words. */
  readonly by: string;
}

export type Life<State extends string> = Readonly<Record<string, Step<State>>>;

/** Whether what is in this state may take the step. */
export function mayTake<State extends string>({ from }: Step<State>, state: State): boolean {
  return from.includes(state);
}

/** The state that a step leads to which leads to one only. */
export function targetOf<State extends string>({ to }: { readonly to: readonly State[] }): State {
  const [target, ...others] = to;
  if (target === undefined || others.length > 0)
    throw new Error(`a step to ${to.length} states has no target`);
  return target;
}
