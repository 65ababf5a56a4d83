// The first steps of the pipeline by themselves: who asks, and one of the caller's requests taken. For a protocol whose messages say
// only in their body which operation they mean, or that they mean none: nothing of a body is read before.

import type { Caller } from "#authn";
import { networkOf, type Origin } from "#base/origin.ts";
import { rootOf } from "#base/uid.ts";
import { describeCall } from "#calls";
import type { Kernel } from "./kernel.ts";
import { callingParty } from "./party.ts";

/** @param resource the audience of that part of the server (RFC 8707). Throws UNAUTHENTICATED, RESOURCE_EXHAUSTED. */
export type Admit = (resource: string, authorization: string | undefined, origin: Origin) => Promise<Caller>;

export const makeAdmit =
  (kernel: Kernel): Admit =>
  async (resource, authorization, origin) => {
    let caller: Caller | undefined;
    try {
      caller = await kernel.services.authn.authenticateAt(resource, authorization);
      describeCall({ caller: caller.uid });
      kernel.rates.take(callingParty(caller));
      return caller;
    } catch (thrown) {
      await kernel.refusalPace(caller === undefined ? networkOf(origin.address) : rootOf(caller.uid));
      throw thrown;
    }
  };
