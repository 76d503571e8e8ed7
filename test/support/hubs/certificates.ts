/** Certificates for tests: an authority and the certificates that it signs. */
// @peculiar/x509 needs this import first.
import 'reflect-metadata';

import { webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

export interface CertificateWish {
  readonly name: string;
  /** Host names and addresses of a server certificate; absent in a client certificate. */
  readonly hosts?: readonly string[];
  readonly expired?: boolean;
}

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export interface Authority {
  /** Path of its certificate. */
  readonly file: string;
  readonly pem: string;
  /** Signs a new certificate and writes it, and its key, into the folder. */
  issue(wish: CertificateWish): Promise<CertificateFiles>;
}

/** Creates an authority; its files and those that it signs are in `folder`, under its name. */
export async function authority(folder: string, name: string): Promise<Authority> {
  const keys = await newKeys();
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const file = join(folder, `${name}.pem`);
  const pem = certificate.toString('pem');
  writeFileSync(file, `${pem}\n`);
  let issued = 0;

  return {
    file,
    pem,
    issue: async ({ name: subject, hosts, expired = false }) => {
      const own = await newKeys();
      const usage = hosts ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth;
      const leaf = await x509.X509CertificateGenerator.create({
        ...validity,
        ...(expired ? { notAfter: new Date(Date.now() - DAY_MS / 2) } : {}),
        subject: `CN=${subject}`,
        issuer: certificate.subject,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new x509.BasicConstraintsExtension(false),
          new x509.ExtendedKeyUsageExtension([usage]),
          ...(hosts ? [new x509.SubjectAlternativeNameExtension(hosts.map(hostName))] : []),
          await x509.AuthorityKeyIdentifierExtension.create(certificate),
        ],
      });
      const stem = join(folder, `${name}-${++issued}-${subject}`);
      const files = { cert: `${stem}.pem`, key: `${stem}.key` };
      writeFileSync(files.cert, `${leaf.toString('pem')}\n`);
      const exported = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', own.privateKey));
      writeFileSync(files.key, x509.PemConverter.encode(exported, 'PRIVATE KEY'), { mode: 0o600 });
      return files;
    },
  };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, [
    'sign',
    'verify',
  ]) as Promise<webcrypto.CryptoKeyPair>;
}

function hostName(host: string): x509.JsonGeneralName {
  return { type: /^[\d.]+$/.test(host) ? 'ip' : 'dns', value: host };
}
