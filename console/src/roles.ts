// Roles that a role binding or an invite of a group can have.

import type { Role } from "../../client/package.ts";
import { useAsk } from "./api.ts";
import type { Place } from "./questions.ts";
import { texts } from "./texts/pages.ts";
import type { Choice } from "./access/picker.tsx";
import { builtInRoles, customRoles } from "./access/requests.ts";

/** Roles that most groups use, first. */
const usual = ["viewer", "editor", "owner", "registry.pull", "registry.push", "registry.pull_token_creator"];

const rank = ({ uid, name }: Role): number => (uid.includes("/") ? -1 : usual.includes(name) ? usual.indexOf(name) : usual.length);

/** Custom roles are usable in their group and below. */
const rolesFor = (roles: readonly Role[], place: string): Role[] =>
  roles
    .filter(({ uid }) => !uid.includes("/") || `${place}/`.startsWith(`${uid.slice(0, uid.lastIndexOf("/"))}/`))
    .sort((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));

export const useRoles = (path: readonly Place[]): readonly Role[] => {
  const builtIn = useAsk(builtInRoles()).data?.data.roles ?? [];
  const custom = useAsk(customRoles(path[0]?.uid ?? "")).data?.data.roles ?? [];
  return rolesFor([...builtIn, ...custom], path.at(-1)?.uid ?? "");
};

export const roleChoices = (roles: readonly Role[]): Choice[] =>
  roles.map(({ uid, name, capabilities, description }) => ({
    value: uid,
    title: name,
    detail: uid.includes("/") && description !== "" ? description : texts.capabilityCount(capabilities.length),
  }));
