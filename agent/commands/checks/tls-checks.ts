/** Checks of the authority and the certificate in `tls`, without a connection. */
import { createSecureContext } from 'node:tls';
import { certificatesIn, checkValidity } from '@workbench-hub/shared/checks/certificate-checks';
import { type Finding, fault, ok, warning } from '@workbench-hub/shared/checks/finding';
import { readTlsFiles } from '@workbench-hub/shared/hub-link/tls';
import { JoinFailed } from '@workbench-hub/shared/joining/ports/hub';
import { type AgentConfig, hubAddresses } from '../../config.js';

/** Checks the files of `tls` as a start would read them, whether the key belongs to the certificate, and their dates. */
export async function checkTls(config: AgentConfig, nowMs: number): Promise<Finding[]> {
  const { tls } = config;
  if (tls.ca === null && tls.cert === null) return [];
  const isUsed = hubAddresses(config).some((address) => /^wss:/i.test(address));
  if (!isUsed)
    return [
      warning('tls', 'it is set, but "hub" begins with ws://', 'write wss:// into "hub", or remove tls'),
    ];
  return [...(await checkAuthority(config, nowMs)), ...(await checkOwnCertificate(config, nowMs))];
}

async function checkAuthority({ tls }: AgentConfig, nowMs: number): Promise<Finding[]> {
  const check = 'authority';
  if (tls.ca === null) return [];
  const read = await readOne({ ca: tls.ca, cert: null, key: null });
  if ('why' in read) return [fault(check, read.why, 'correct tls.ca, or the rights of the file')];
  const certificates = parsed(read.ca);
  if (certificates.length === 0)
    return [
      fault(
        check,
        `${tls.ca} holds no certificate in PEM`,
        'copy the certificate of the authority that signed that of the hub into it',
      ),
    ];
  const advice = `put the current certificate of the authority into ${tls.ca}`;
  const findings = certificates.map((one) => checkValidity(check, one, { nowMs, advice }));
  // One usable authority is enough for a start.
  if (findings.some(({ state }) => state !== 'FAULT'))
    return findings.map((finding) =>
      finding.state === 'FAULT' ? { ...finding, state: 'WARNING' } : finding,
    );
  return findings;
}

async function checkOwnCertificate({ tls }: AgentConfig, nowMs: number): Promise<Finding[]> {
  const check = 'certificate';
  if (tls.cert === null || tls.key === null) return [];
  const read = await readOne({ ca: null, cert: tls.cert, key: tls.key });
  if ('why' in read)
    return [fault(check, read.why, 'correct tls.cert and tls.key, or the rights of the files')];
  const [certificate] = parsed(read.cert);
  if (certificate === undefined)
    return [fault(check, `${tls.cert} holds no certificate in PEM`, 'correct tls.cert')];
  try {
    createSecureContext({ cert: read.cert, key: read.key });
  } catch (error) {
    const why = `${tls.key} is not the key of the certificate in ${tls.cert}, or no key in PEM without a passphrase: ${(error as Error).message}`;
    return [fault(check, why, 'correct tls.key')];
  }
  return [
    ok(check, `${tls.key} is the key of ${tls.cert}`),
    checkValidity(check, certificate, { nowMs, advice: `renew ${tls.cert} and its key` }),
  ];
}

async function readOne(names: Parameters<typeof readTlsFiles>[0]) {
  try {
    const { ca = '', cert = '', key = '' } = await readTlsFiles(names);
    return { ca, cert, key };
  } catch (error) {
    if (!(error instanceof JoinFailed)) throw error;
    return { why: error.message };
  }
}

/** Empty for a text that OpenSSL cannot read. */
function parsed(pem: string) {
  try {
    return certificatesIn(pem);
  } catch {
    return [];
  }
}
