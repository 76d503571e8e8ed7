/** Number of the instances that fit a task, by state. */
import { z } from 'zod';
import type { StateCounts } from '../../../core/wait-reason.js';

export const keptSchema = z.int().min(0).optional().meta({
  description: 'Instances that take tasks of other hubs only at present; absent for none.',
});

export const endingSchema = z.int().min(0).optional().meta({
  description: 'Instances on hosts with too little time for the task; absent for none.',
});

export const recipesSchema = z
  .array(z.string())
  .meta({ description: 'Names of the recipes that bring hosts for the task; absent for none.' });

export function presentCounts({ kept, ending, ...others }: StateCounts) {
  return { ...others, ...(kept === 0 ? {} : { kept }), ...(ending === 0 ? {} : { ending }) };
}
