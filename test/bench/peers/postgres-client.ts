import pg from 'pg';

export function poolOf(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  // The server is stopped while they are open.
  pool.on('error', () => undefined).on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Calls a function with the text of each notice of a channel. */
export async function listenTo(
  connectionString: string,
  channel: string,
  onNotice: (text: string) => void,
): Promise<void> {
  const listener = new pg.Client({ connectionString });
  listener.on('error', () => undefined);
  await listener.connect();
  listener.on('notification', ({ payload = '' }) => onNotice(payload));
  await listener.query(`LISTEN ${channel}`);
}
