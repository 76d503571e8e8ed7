/** The account of `service install --account`. */
import { type TerminalInput, withHiddenAnswers } from '@workbench-hub/shared/runtime/hidden-answers';
import { type ServiceAccount, ServiceFault } from './host-service.js';

/** Accounts that Windows has itself for services are without a password. */
const WITHOUT_PASSWORD = /^(?:LocalSystem$|NT (?:AUTHORITY|SERVICE)\\)|\$$/i;

/** The account with its password, which is asked for without showing it. Rejects with {@link ServiceFault} when there is none. */
export async function serviceAccount(
  name: string,
  platform: NodeJS.Platform,
  input: TerminalInput,
  tell: (text: string) => void,
): Promise<ServiceAccount> {
  if (platform !== 'win32' || WITHOUT_PASSWORD.test(name)) return { name, password: null };
  if (!input.isTTY)
    throw new ServiceFault(
      `there is no terminal to ask for the password of ${name} on: run the command in a console`,
    );
  const password = await withHiddenAnswers(input, tell, (ask) => ask(`Password of ${name}: `));
  if (password === undefined) throw new ServiceFault('no password was given, and nothing was installed');
  return { name, password };
}
