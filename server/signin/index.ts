// The face of the room: how people come in.

export { recordExchange } from "./exchanged.ts";
export { tokenPath } from "./grants.ts";
export { takeHeadlessSession } from "./headless.ts";
export { openSignIn, type SignIn } from "./open.ts";
export type { SignInSettings } from "./parts.ts";
export { type Renewal, renew } from "./refresh.ts";
export type { Asked, Shown, SignInPath } from "./shown.ts";
export { inviteCodeHash, makeInviteCode } from "./invite-code.ts";
export {
  acceptInvite, acceptInviteAs, dropLapsedInvites, inviteGroup, makePerson, mayPromise, type Occasion, type Person, providerAudiences, register, type Registered,
  registerThroughProvider, type Upstream, vouches,
} from "./registration.ts";
