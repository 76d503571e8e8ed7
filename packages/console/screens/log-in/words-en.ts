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
  signOn: 'Continue with the company’s sign-on',
  signOnAt: (host: string) => `at ${host}`,
  signOnWindow: 'It opens in a window of its own.',
  orPassword: 'or with a password of this hub',
  signOnDenied: 'The company’s sign-on did not let you in, or you canceled there.',
  signOnUnfinished: 'The log-in was not completed. It may have taken too long; begin it again.',
  signOnForbidden: (reason: string) =>
    `The company’s sign-on knows you, but this hub does not let you in: ${reason}`,
  signOnAway: 'The company’s sign-on cannot be reached. Try again in a moment.',
};
