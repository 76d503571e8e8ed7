/** The ports between hubs, for a hub that has its store alone: everything is a call within this process. */
import type { Cluster } from '../../core/ports/store.js';
import { ownMail } from './own-mail.js';
import { ownPreparations } from './own-preparations.js';
import { type OwnPresenceOptions, ownPresence } from './own-presence.js';
import { ownRole } from './own-role.js';
import { ownSignals } from './own-signals.js';

export function soleHub(options: OwnPresenceOptions): Cluster {
  return {
    signals: ownSignals(options.log),
    roles: ownRole(),
    presence: ownPresence(options),
    mail: ownMail(),
    preparations: ownPreparations(),
  };
}
