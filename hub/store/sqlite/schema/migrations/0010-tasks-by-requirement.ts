/** Tells whether any task has a requirement, so that unused ones can be removed. */
export const tasksByRequirement = 'CREATE INDEX task_requirement ON task (requirement_id);';
