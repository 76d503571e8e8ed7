/** State machines as tables: each row is a transition; nothing else changes a state. The state `-` stands for an object
 *  that does not exist yet, or no longer. */

/** One row of a {@link StateMachine}. */
export interface Transition<State extends string> {
  readonly from: readonly State[];
  /** More than one when the details of the event decide. */
  readonly to: readonly State[];
  /** The event or component that causes the transition, as text for the documentation. */
  readonly by: string;
}

/** Transitions by name. */
export type StateMachine<State extends string> = Readonly<Record<string, Transition<State>>>;

/** True when the transition may start in `state`. */
export function canTransition<State extends string>({ from }: Transition<State>, state: State): boolean {
  return from.includes(state);
}

/** The target of a transition that has only one; throws when it has several. */
export function nextState<State extends string>({ to }: { readonly to: readonly State[] }): State {
  const [target, ...others] = to;
  if (target === undefined || others.length > 0)
    throw new Error(`a transition to ${to.length} states has no single target`);
  return target;
}
