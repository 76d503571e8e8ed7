import type { ComponentProps } from 'react';
import { HubWords } from '../../../design/hub-words.js';
import { TextField } from '../../../design/text-field.js';
import type { Fault } from './study-draft.js';

/** A fault in words. */
export interface ShownFault extends Fault {
  /** Whether they are those of the hub, in English. */
  readonly isOfHub: boolean;
}

/** Faults beneath what they are about. */
export function FaultLines({ id, faults }: { readonly id?: string; readonly faults: readonly ShownFault[] }) {
  if (faults.length === 0) return null;
  return (
    <p id={id} className="new-study-fault">
      {faults.map(({ where, what, isOfHub }) => (
        <span key={`${where} ${what}`}>{isOfHub ? <HubWords>{what}</HubWords> : what}</span>
      ))}
    </p>
  );
}

interface FaultFieldProps extends ComponentProps<typeof TextField> {
  readonly faults: readonly ShownFault[];
}

/** A field with its faults. */
export function FaultField({ faults, ...field }: FaultFieldProps) {
  const faultId = `${field.id}-fault`;
  return (
    <div className="new-study-field">
      <TextField
        {...field}
        {...(faults.length > 0 ? { 'aria-invalid': true, 'aria-describedby': faultId } : {})}
      />
      <FaultLines id={faultId} faults={faults} />
    </div>
  );
}
