// Decisions about findings of a group and everything below it, which can be approved and withdrawn.

import { type ReactNode, useState } from "react";
import { mine } from "../access/requests.ts";
import { addressOf, positionIn, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { type Change, ChangeDecision, decisionColumns } from "../decisions/columns.tsx";
import { decideCapability, decisionsIn } from "../decisions/requests.ts";
import { ListSection } from "../list-section.tsx";
import { Empty, Link } from "../parts.tsx";
import { texts } from "../texts/decisions.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

export const DecisionsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const uid = path.at(-1)?.uid ?? "";
  const own = useAsk(mine(uid)).data?.data.capabilities ?? [];
  const mayDecide = own.includes(decideCapability);
  const result = useAsk(decisionsIn(uid, positionIn(useAddress(), "skip")));
  const [chosen, setChosen] = useState<Change>();
  return (
    <GroupFrame names={names} path={path} current="decisions" sent={[result.data?.sent]}>
      <ListSection
        title={texts.decisions}
        about={own.length === 0 || mayDecide ? texts.decisionsText : `${texts.decisionsText} ${texts.changeNeeds([decideCapability])}`}
        result={result}
        itemsOf={(data) => data.findingDecisions}
        columns={decisionColumns(mayDecide ? setChosen : undefined)}
        count={texts.decisionCount}
        parameter="skip"
        empty={
          <Empty icon="shield" title={texts.noDecisionsTitle}>
            <p>{texts.noDecisionsText}</p>
            <Link className="button" href={addressOf(names, "findings")}>
              {texts.findings}
            </Link>
          </Empty>
        }
      />
      {chosen ? <ChangeDecision {...chosen} onClose={() => setChosen(undefined)} /> : null}
    </GroupFrame>
  );
};
