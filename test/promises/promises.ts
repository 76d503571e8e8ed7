/** The lists of what a page promises, with what holds each promise. */

/** Something that fails when a promise is broken. */
export type Holder =
  /** A test, by its file and a part of its title as the file has it. */
  | { readonly file: string; readonly title: string }
  /** An invariant of the simulation, by its name. */
  | { readonly invariant: string };

/** A paragraph, list item or row of a table of a page. */
export interface Block {
  /** The first words of the block, as the page has them; no other block of the page begins with them. */
  readonly begins: string;
  /** What holds each promise of the block; `PROMISES_NOTHING` where it has none. */
  readonly heldBy: readonly Holder[] | typeof PROMISES_NOTHING;
}

export interface PagePromises {
  /** Path of the page from the root of the repository. */
  readonly page: string;
  readonly blocks: readonly Block[];
}

/** A block that only explains, gives a reason, or refers to something else. */
export const PROMISES_NOTHING = 'PROMISES_NOTHING';

export const test = (file: string, title: string): Holder => ({ file, title });
export const invariant = (name: string): Holder => ({ invariant: name });
