/** The part of a configuration that says how a hub is joined: of agents, and of hubs that join other hubs. */
import { z } from 'zod';
import { isHubAddress } from '../joining/hub-addresses.js';
import { secret, section } from './values.js';

const ADDRESS_ALLOWED = 'the address of a hub, such as ws://127.0.0.1:8080 or wss://hub.example.org';

const SEVERAL_ALLOWED = `${ADDRESS_ALLOWED}, or a list of them`;

const address = z.string({ error: ADDRESS_ALLOWED }).refine(isHubAddress, { error: ADDRESS_ALLOWED });

/** An address, or those of a cluster. */
export const hubAddressesSchema = z.union([address, z.array(address).min(1, { error: SEVERAL_ALLOWED })], {
  error: SEVERAL_ALLOWED,
});

/** Keys of the authentication. */
export const joiningKeys = {
  token: secret()
    .regex(/^[\x21-\x7e]+$/, { error: 'visible ASCII characters only' })
    .nullable()
    .default(null),
  tokenFile: z.string().min(1).nullable().default(null),
  tls: section({
    /** PEM file of the authorities that may sign the hub's certificate. Null: those that Node.js trusts. */
    ca: z.string().min(1).nullable().default(null),
    /** Certificate that is presented if the hub asks for one. */
    cert: z.string().min(1).nullable().default(null),
    key: z.string().min(1).nullable().default(null),
  }),
};

const joiningSchema = z.object(joiningKeys);

/** Reports keys that exclude or need each other. */
export function checkJoiningKeys(
  { token, tokenFile, tls }: z.output<typeof joiningSchema>,
  context: Pick<z.RefinementCtx, 'addIssue'>,
): void {
  if (token !== null && tokenFile !== null)
    context.addIssue({ code: 'custom', path: ['tokenFile'], message: 'either token or tokenFile, not both' });
  if ((tls.cert === null) !== (tls.key === null)) {
    const lone = tls.key === null ? 'cert' : 'key';
    context.addIssue({
      code: 'custom',
      path: ['tls', lone],
      message: 'tls.cert and tls.key, both or none',
    });
  }
}
