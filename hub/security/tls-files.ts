/** The hub's certificate and key, which may be renewed while it runs. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { periodicLoop } from '@workbench-hub/shared/runtime/loop';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';

export interface TlsFileNames {
  readonly cert: string;
  readonly key: string;
  /** Authority of the agents' certificates; null when agents need none. */
  readonly agentCa: string | null;
}

const LOOK_EVERY_MS = 60_000;

/** Rejects with {@link StartRefused} for files that are unreadable or do not match. */
export async function openTlsFiles(names: TlsFileNames): Promise<TlsFiles> {
  return new TlsFiles(names, await read(names));
}

/** Certificate, key and authority in use, which are replaced by renewed files that are valid. */
export class TlsFiles {
  #names: TlsFileNames;
  #content: SecureContextOptions;
  /** Files found by the latest look, or the fault of them. */
  #seen: string;
  #onChanged: (content: SecureContextOptions) => void = () => undefined;

  constructor(names: TlsFileNames, content: SecureContextOptions) {
    this.#names = names;
    this.#content = content;
    this.#seen = textOf(content);
  }

  /** Present files, verified to match. */
  get content(): SecureContextOptions {
    return this.#content;
  }

  /** Checks every minute for changed files; returns the function that stops it. Unusable files are logged once for each
   *  change, and the former ones stay in use. `onChanged` is also called by {@link reload}. */
  watch(onChanged: (content: SecureContextOptions) => void, timers: Timers, log: Logger): () => void {
    this.#onChanged = onChanged;
    const loop = periodicLoop(LOOK_EVERY_MS, {
      timers,
      pass: () => this.#look(log),
      failed: (error) => log.error({ err: error }, 'the certificate could not be checked'),
    });
    loop.start(LOOK_EVERY_MS);
    return () => void loop.stop();
  }

  /** Uses the files of these names from now on. Rejects with {@link StartRefused} for files that cannot be used; the former
   *  names and files stay in use then. */
  async reload(names: TlsFileNames): Promise<string> {
    if ((names.agentCa === null) !== (this.#names.agentCa === null)) {
      throw stays(new StartRefused('server.tls.agentCa can be set or removed by a restart only'));
    }
    let content: SecureContextOptions;
    try {
      content = await read(names);
    } catch (error) {
      throw error instanceof StartRefused ? stays(error) : error;
    }
    this.#names = names;
    this.#use(content);
    return `the certificate of ${names.cert}, valid to ${validToOf(content)}, is in use`;
  }

  async #look(log: Logger): Promise<void> {
    const names = this.#names;
    const found = await readAll(names).catch((error: unknown) => {
      if (error instanceof StartRefused) return error;
      throw error;
    });
    const now = found instanceof StartRefused ? found.message : textOf(found);
    if (now === this.#seen) return;
    this.#seen = now;
    try {
      if (found instanceof StartRefused) throw found;
      check(names, found);
      this.#use(found);
      log.info({ cert: names.cert, validTo: validToOf(found) }, 'the renewed certificate is in use');
    } catch (error) {
      if (!(error instanceof StartRefused)) throw error;
      log.error(stays(error).message);
    }
  }

  #use(content: SecureContextOptions): void {
    this.#onChanged(content);
    this.#content = content;
    this.#seen = textOf(content);
  }
}

function stays(fault: StartRefused): StartRefused {
  return new StartRefused(`the former certificate stays in use: ${fault.message}`, { cause: fault });
}

async function read(names: TlsFileNames): Promise<SecureContextOptions> {
  const content = await readAll(names);
  check(names, content);
  return content;
}

async function readAll({ cert, key, agentCa }: TlsFileNames): Promise<SecureContextOptions> {
  return {
    minVersion: 'TLSv1.2',
    cert: await readOne('server.tls.cert', cert),
    key: await readOne('server.tls.key', key),
    ...(agentCa === null ? {} : { ca: await readOne('server.tls.agentCa', agentCa) }),
  };
}

async function readOne(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`;
    throw new StartRefused(`${setting}: ${file}: ${why}`, { cause: error });
  }
}

/** Throws {@link StartRefused} unless a server can use them. */
function check({ cert, key, agentCa }: TlsFileNames, content: SecureContextOptions): void {
  const refuse = (message: string, cause: unknown) => new StartRefused(message, { cause });
  if (agentCa !== null) {
    try {
      new X509Certificate(content.ca as string);
    } catch (error) {
      throw refuse(`server.tls.agentCa: ${agentCa} holds no certificate in PEM`, error);
    }
  }
  try {
    new X509Certificate(content.cert as string);
  } catch (error) {
    throw refuse(`server.tls.cert: ${cert} holds no certificate in PEM`, error);
  }
  try {
    createSecureContext(content);
  } catch (error) {
    throw refuse(
      `server.tls.key: ${key} is not the key of the certificate in server.tls.cert (${cert}), or no key in PEM ` +
        `without a passphrase: ${(error as Error).message}`,
      error,
    );
  }
}

function validToOf({ cert }: SecureContextOptions): string {
  return new X509Certificate(cert as string).validTo;
}

function textOf({ cert, key, ca }: SecureContextOptions): string {
  return JSON.stringify([cert, key, ca]);
}
