// Names reserved for the organizations that had them (docs/decisions/0002), and their release by the operator.

import { Fault } from "#base/fault.ts";
import type { Kernel } from "#kernel";
import { listReservedNames, releaseReservedName, type ReservedName } from "#iam/store";
import { recordCommand } from "./command-record.ts";

export const findReservedNames = ({ services }: Pick<Kernel, "services">): Promise<ReservedName[]> => listReservedNames(services.store.read);

/** Releases a reserved name, with an audit entry; throws NOT_FOUND if it is not reserved. */
export const releaseName = ({ services }: Pick<Kernel, "services">, name: string): Promise<void> =>
  services.store.write(async (rows) => {
    const organization = await releaseReservedName(rows, name);
    if (organization === undefined)
      throw new Fault("NOT_FOUND", `name ${JSON.stringify(name)} is not reserved. List the reserved names with gantry admin names list`);
    await recordCommand(rows, services, `admin names release ${name}`, "dev.gantry.organization.name_released.v1", organization);
  });
