// Authenticates and rate-limits a caller before a body is read, for protocols that name the operation in the body.

import type { Caller } from "#authn";
import { networkOf, type Origin } from "#base/origin.ts";
import { rootOf } from "#base/uid.ts";
import { describeCall } from "#calls";
import type { Kernel } from "./kernel.ts";
import { keyForCaller } from "./fairness-keys.ts";

/** Returns the caller; throws UNAUTHENTICATED or RESOURCE_EXHAUSTED. `resource` is the audience (RFC 8707). */
export type Admit = (resource: string, authorization: string | undefined, origin: Origin) => Promise<Caller>;

export const makeAdmit =
  (kernel: Kernel): Admit =>
  async (resource, authorization, origin) => {
    let caller: Caller | undefined;
    try {
      caller = await kernel.services.authn.authenticateAt(resource, authorization);
      describeCall({ caller: caller.uid });
      kernel.rates.take(keyForCaller(caller));
      return caller;
    } catch (thrown) {
      await kernel.refusalPace(caller === undefined ? networkOf(origin.address) : rootOf(caller.uid));
      throw thrown;
    }
  };
