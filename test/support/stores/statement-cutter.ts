/** A proxy before PostgreSQL that cuts connections around statements: before, while and after the server runs them. */
import { connect, createServer, type Socket } from 'node:net';

/** BEFORE: the statement does not reach the server. DURING: the server runs it, and learns of the cut later. AFTER: its response
 *  is lost. */
export const CUTS = ['BEFORE', 'DURING', 'AFTER'] as const;
export type Cut = (typeof CUTS)[number];

export interface StatementCutter {
  /** The same address by way of the proxy. */
  through(url: string): string;
  /** Numbers of cuts so far. */
  readonly cuts: Readonly<Record<Cut, number>>;
  close(): Promise<void>;
}

/** Types of the messages with which the driver begins a prepared statement: Parse and Bind. */
const BEGINS_STATEMENT = new Set(['P'.charCodeAt(0), 'B'.charCodeAt(0)]);
const SIMPLE_QUERY = 'Q'.charCodeAt(0);

/** What may be cut: prepared statements, and the commits of transactions of several. */
export type Cuttable = 'STATEMENT' | 'COMMIT';

function cuttableIn(piece: Buffer): Cuttable | undefined {
  const type = piece[0] ?? 0;
  if (BEGINS_STATEMENT.has(type)) return 'STATEMENT';
  // The text follows the length of the message.
  return type === SIMPLE_QUERY && piece.subarray(5).toString().startsWith('COMMIT') ? 'COMMIT' : undefined;
}

/** @param choose Asked for each statement and commit; undefined lets it pass. */
export async function startStatementCutter(
  targetPort: number,
  choose: (what: Cuttable) => Cut | undefined,
): Promise<StatementCutter> {
  const cuts = { BEFORE: 0, DURING: 0, AFTER: 0 };
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    let isResponseLost = false;
    for (const socket of [near, far]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
    }
    near.on('data', (piece: Buffer) => {
      const what = cuttableIn(piece);
      const cut = what && choose(what);
      if (cut) cuts[cut]++;
      if (cut === 'BEFORE') {
        near.resetAndDestroy();
        far.resetAndDestroy();
        return;
      }
      isResponseLost ||= cut === 'AFTER';
      far.write(piece);
      if (cut === 'DURING') near.resetAndDestroy();
    });
    // A server responds when it has committed.
    far.on('data', (piece) => {
      if (isResponseLost) {
        near.resetAndDestroy();
        far.resetAndDestroy();
      } else if (!near.destroyed) near.write(piece);
      else far.end();
    });
    far.on('close', () => near.destroy());
    near.on('end', () => far.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    through: (url) => {
      const address = new URL(url);
      address.port = `${port}`;
      return address.href;
    },
    cuts,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
