/** TLS of the agent: trusted authorities and its own certificate. The hub's certificate is always verified. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { Agent, buildConnector } from 'undici';
import type { DialTls } from '../agent-protocol/dial.js';
import { JoinFailed } from '../joining/ports/hub.js';
import { trustsSystemAuthorities } from './system-authorities.js';

const CONNECT_TIMEOUT_MS = 10_000;

export interface TlsFileNames {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** Reads the files as they are; rejects with {@link JoinFailed}, which names the setting. */
export async function readTlsFiles({ ca, cert, key }: TlsFileNames): Promise<DialTls> {
  return {
    ...(ca === null ? {} : { ca: await readOne('tls.ca', ca) }),
    ...(cert === null ? {} : { cert: await readOne('tls.cert', cert) }),
    ...(key === null ? {} : { key: await readOne('tls.key', key) }),
  };
}

/** The files of `tls`, which are read for each connection, so that they may be renewed. Unusable files are logged once, and the
 *  former ones stay in use. */
export class TlsFiles {
  readonly #names: TlsFileNames;
  readonly #onFault: (message: string) => void;
  /** Latest files that were usable. */
  #usable: DialTls | undefined;
  #fault: string | undefined;

  /** `onFault` gets a sentence for the log. */
  constructor(names: TlsFileNames, onFault: (message: string) => void = () => undefined) {
    this.#names = names;
    this.#onFault = onFault;
  }

  /** Rejects with {@link JoinFailed}, which names the setting, as long as no files were usable. */
  async current(): Promise<DialTls> {
    try {
      return await this.#read();
    } catch (error) {
      if (!(error instanceof JoinFailed) || this.#usable === undefined) throw error;
      if (error.message !== this.#fault) this.#onFault(`${STAY}: ${error.message}`);
      this.#fault = error.message;
      return this.#usable;
    }
  }

  /** Reads the files now; resolves with a sentence on them, or null without any. Rejects with {@link JoinFailed} for files that
   *  cannot be used; the former ones stay in use then. */
  async reload(): Promise<string | null> {
    const files = Object.values(this.#names).filter((file) => file !== null);
    try {
      await this.#read();
      return files.length === 0 ? null : `the next connection uses ${files.join(', ')}`;
    } catch (error) {
      throw error instanceof JoinFailed
        ? new JoinFailed(`${STAY}: ${error.message}`, { cause: error })
        : error;
    }
  }

  async #read(): Promise<DialTls> {
    const files = await readTlsFiles(this.#names);
    if (!isDeepStrictEqual(files, this.#usable)) refuseUnusable(this.#names, files);
    this.#usable = files;
    this.#fault = undefined;
    return files;
  }
}

const STAY = 'the former files of "tls" stay in use';

/** Throws {@link JoinFailed} for files with which no connection could be made. */
function refuseUnusable({ ca, cert, key }: TlsFileNames, files: DialTls): void {
  for (const [setting, file, content] of [
    ['tls.ca', ca, files.ca],
    ['tls.cert', cert, files.cert],
  ] as const) {
    if (content === undefined || isCertificate(content)) continue;
    throw new JoinFailed(`the file of "${setting}", ${file}, holds no certificate in PEM`);
  }
  try {
    createSecureContext(files);
  } catch (error) {
    const { message } = error as Error;
    throw new JoinFailed(
      `the file of "tls.key", ${key}, is not the key of the certificate in ${cert}, or no key in PEM without a passphrase: ${message}`,
      { cause: error },
    );
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== null;
  } catch {
    return false;
  }
}

/** HTTP connections to a hub; each uses the current files. */
export function hubConnections(files: TlsFiles): Agent {
  const connect: buildConnector.connector = (options, callback) => {
    files.current().then(
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
      `set "tls.ca" to a file with the certificate of that authority${trustsSystemAuthorities() ? ', or add it to those that this system trusts' : ''}`
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
