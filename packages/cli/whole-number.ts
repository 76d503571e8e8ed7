import { InvalidArgumentError } from 'commander';

/** Parser of an option that takes a whole number. Throws InvalidArgumentError for a smaller one, and for any other text. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(number) && number >= least) return number;
    throw new InvalidArgumentError(
      least === 0 ? 'It must be a whole number.' : `It must be a whole number of at least ${least}.`,
    );
  };
}
