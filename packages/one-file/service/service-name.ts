/** Names of services. */
export const SERVICE_NAME = { DEFAULT: 'workbench-agent', FORM: /^[\w-]{1,80}$/ } as const;
