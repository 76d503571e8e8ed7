/** Address of a database for messages and logs: user, host, port and name, never the password or parameters. */
export function locationOf(url: string): string {
  if (!URL.canParse(url)) return 'postgres:';
  const { username, hostname, port, pathname, searchParams } = new URL(url);
  const user = username === '' ? '' : `${username}@`;
  const host = hostname || encodeURIComponent(searchParams.get('host') ?? '');
  return `postgres://${user}${host}${port === '' ? '' : `:${port}`}${pathname}`;
}
