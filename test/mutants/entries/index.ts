// Every mutant, by the area of the defence.

import type { Mutant } from "../mutant.ts";
import { audit } from "./audit.ts";
import { authentication } from "./authentication.ts";
import { client } from "./client.ts";
import { consent } from "./consent.ts";
import { consoleMutants } from "./console.ts";
import { delivery } from "./delivery.ts";
import { feeds } from "./feeds.ts";
import { registry } from "./registry.ts";
import { resources } from "./resources.ts";
import { scim } from "./scim.ts";
import { signIn } from "./sign-in.ts";
import { tenancy } from "./tenancy.ts";
import { transport } from "./transport.ts";

export const mutants: readonly Mutant[] = [
  ...authentication,
  ...tenancy,
  ...resources,
  ...delivery,
  ...registry,
  ...signIn,
  ...scim,
  ...feeds,
  ...transport,
  ...audit,
  ...client,
  ...consent,
  ...consoleMutants,
];
