/** Rules for names and lifetimes of personal tokens. */

export const TOKEN_NAME = /^[^\p{C}\p{Z}](?:[^\p{C}]{0,98}[^\p{C}\p{Z}])?$/u;

export const TOKEN_NAME_ALLOWED = '1 to 100 visible characters, with spaces only between them';

export function isTokenName(text: string): boolean {
  return TOKEN_NAME.test(text);
}

export const DEFAULT_TOKEN_DAYS = 90;
export const MAX_TOKEN_DAYS = 366;
