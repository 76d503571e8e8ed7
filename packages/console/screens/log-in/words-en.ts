/** Words of the login. */
export const en = {
  title: 'Log in',
  again: 'Your session has ended',
  againMore: 'Log in again, and go on where you were. Nothing that you typed is lost.',
  username: 'Username',
  password: 'Password',
  logIn: 'Log in',
  wrong: 'Username or password is wrong, or the user is disabled.',
  tooMany: (seconds: string) => `Too many attempts. Try again in ${seconds} s.`,
  unreachable: 'The hub cannot be reached. Try again in a moment.',
  failed: (status: string) => `The hub could not log you in (${status}). Try again in a moment.`,
  starting: 'Asking the hub …',
};
