/** How each agent was installed, and its system, as JSON; null for one that has not joined since. */
export const agentInstallation = 'ALTER TABLE agent ADD COLUMN installation TEXT;';
