/** TLS of the agent: trusted authorities and its own certificate. The hub's certificate is always verified. */
import { readFile } from 'node:fs/promises';
import type { DialTls } from '@workbench-hub/shared/agent-protocol/dial';
import { Agent, buildConnector } from 'undici';
import { JoinFailed } from '../core/ports/hub.js';

const CONNECT_TIMEOUT_MS = 10_000;

export interface TlsFileNames {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** Reads the current files; rejects with {@link JoinFailed}, which names the setting. */
export async function readTlsFiles({ ca, cert, key }: TlsFileNames): Promise<DialTls> {
  return {
    ...(ca === null ? {} : { ca: await readOne('tls.ca', ca) }),
    ...(cert === null ? {} : { cert: await readOne('tls.cert', cert) }),
    ...(key === null ? {} : { key: await readOne('tls.key', key) }),
  };
}

/** HTTP connections to a hub; each uses the current files. */
export function hubConnections(names: TlsFileNames): Agent {
  const connect: buildConnector.connector = (options, callback) => {
    readTlsFiles(names).then(
      (tls) =>
        buildConnector({ ...tls, rejectUnauthorized: true, timeout: CONNECT_TIMEOUT_MS })(options, callback),
      (error: Error) => callback(error, null),
    );
  };
  return new Agent({ connections: 16, headersTimeout: 60_000, bodyTimeout: 60_000, connect });
}

/** Describes a TLS failure with its remedy; undefined for other errors. */
export function tlsFault(error: unknown): string | undefined {
  const {
    code = '',
    message,
    host,
    cert,
  } = error as NodeJS.ErrnoException & {
    host?: string;
    cert?: { subjectaltname?: string };
  };
  if (UNTRUSTED.has(code)) {
    return (
      `its certificate is signed by an authority that this agent does not trust (${code}): ` +
      'set "tls.ca" to a file with the certificate of that authority'
    );
  }
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return 'its certificate has expired (CERT_HAS_EXPIRED): renew server.tls.cert of the hub';
    case 'CERT_NOT_YET_VALID':
      return 'its certificate is not valid yet (CERT_NOT_YET_VALID): are the clocks of hub and agent right?';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return (
        `its certificate is not for ${host ?? 'this host'}, but for ${cert?.subjectaltname ?? 'no host'} (${code}): ` +
        'put one of these names into "hub", or give the hub a certificate for the name that is there'
      );
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      if (/wrong version number|packet length too long/i.test(message)) {
        return `the server at this address does not use TLS (${code}): write ws:// into "hub", or set server.tls of the hub`;
      }
      return `the TLS handshake failed: ${message}`;
    default:
      return undefined;
  }
}

/** Error codes of OpenSSL. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

async function readOne(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JoinFailed(`the file of "${setting}", ${file}, cannot be read (${code})`, { cause: error });
  }
}
