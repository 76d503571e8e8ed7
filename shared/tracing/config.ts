/** Configuration of traces, the same for hub and agent. */
import { z } from 'zod';
import { section } from '../config/values.js';

const ENDPOINT_ALLOWED =
  'the address of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318, without /v1/traces, user and query';
const RATIO_ALLOWED = 'a number from 0 to 1';
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const HEADER_VALUE_ALLOWED = 'visible ASCII characters, with spaces between them';

export function tracingSection() {
  return section({
    /** Null: tracing is off. */
    endpoint: z
      .string({ error: ENDPOINT_ALLOWED })
      .refine(isEndpoint, { error: ENDPOINT_ALLOWED })
      .nullable()
      .default(null),
    /** Fraction of traces that are sampled. */
    sampleRatio: z.number({ error: RATIO_ALLOWED }).min(0).max(1).default(1),
    /** Sent with each delivery; values are never shown. */
    headers: z
      .record(
        z.string().regex(HEADER_NAME, { error: 'the name of a header' }),
        z
          .string({ error: HEADER_VALUE_ALLOWED })
          .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, { error: HEADER_VALUE_ALLOWED }),
      )
      .meta({ secret: true })
      .default({}),
  });
}

export type TracingConfig = z.output<ReturnType<typeof tracingSection>>;

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash, pathname } = new URL(text);
  return (
    (protocol === 'http:' || protocol === 'https:') &&
    username + password + search + hash === '' &&
    !pathname.endsWith('/v1/traces')
  );
}
