/** Address at which agents join a hub that listens at this URL. */
export function agentAddress(url: string): string {
  return url.replace(/^http/, 'ws');
}
