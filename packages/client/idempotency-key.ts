/** Requests that are safe to repeat by their Idempotency-Key. */
import type { Connection } from './connection.js';

interface Interface {
  readonly paths?: Readonly<
    Record<string, { readonly post?: { readonly parameters?: readonly Parameter[] } }>
  >;
}

interface Parameter {
  readonly name?: string;
}

/** Options of a request to this path, as its document names it: a lost response lets it be sent again, unless the hub takes no key there
 *  and would do the work twice. */
export function repeatable(connection: Connection, path: string) {
  return {
    method: 'POST',
    headers: { 'idempotency-key': crypto.randomUUID() },
    isIdempotent: async () => {
      const { paths } = await connection.json<Interface>('/openapi.json');
      const parameters = paths?.[path]?.post?.parameters ?? [];
      return parameters.some(({ name }) => name?.toLowerCase() === 'idempotency-key');
    },
  } as const;
}
