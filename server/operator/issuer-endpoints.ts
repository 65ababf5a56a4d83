// The issuer's paths, as sign-in answers them.

import type { SignInEndpoints } from "#signin";
import type { IssuerEndpoints } from "#transport";

export const issuerEndpoints = (signIn: SignInEndpoints): IssuerEndpoints => signIn;
