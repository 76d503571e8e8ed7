/** Checks of certificates in PEM. */
import { X509Certificate } from 'node:crypto';
import { type Finding, fault, ok, warning } from './finding.js';

const DAY_MS = 86_400_000;
const RENEW_BEFORE_MS = 21 * DAY_MS;

/** Certificates of a PEM text, in their order. Throws the error of OpenSSL when one is damaged. */
export function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

/** Finding about the period in which a certificate is valid; a warning begins three weeks before its end. */
export function checkValidity(
  check: string,
  { validFrom, validTo, subject }: X509Certificate,
  { nowMs, advice }: { readonly nowMs: number; readonly advice: string },
): Finding {
  const [fromMs, untilMs] = [Date.parse(validFrom), Date.parse(validTo)];
  const until = new Date(untilMs).toISOString();
  if (fromMs > nowMs)
    return fault(
      check,
      `the certificate of ${subject} is not valid before ${new Date(fromMs).toISOString()}`,
      advice,
    );
  if (untilMs <= nowMs) return fault(check, `the certificate of ${subject} expired at ${until}`, advice);
  if (untilMs - nowMs < RENEW_BEFORE_MS)
    return warning(check, `the certificate of ${subject} expires at ${until}`, advice);
  return ok(check, `the certificate of ${subject} is valid until ${until}`);
}
