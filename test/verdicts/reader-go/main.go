// Reads OpenVEX documents with the scanners' library. Each input line is [file, name of a vulnerability, package URL]; the output is the
// status of the first and the last matching statement, since scanners differ, or "-". An invalid document ends the program.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/openvex/go-vex/pkg/vex"
)

func open(path string) *vex.VEX {
	document, err := vex.Open(path)
	if err != nil {
		log.Fatalf("%s: %v", path, err)
	}
	for _, statement := range document.Statements {
		if err := statement.Validate(); err != nil {
			log.Fatalf("%s: %s: %v", path, statement.Vulnerability.Name, err)
		}
	}
	return document
}

func main() {
	documents := map[string]*vex.VEX{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var asked [3]string
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		document, known := documents[asked[0]]
		if !known {
			document = open(asked[0])
			documents[asked[0]] = document
		}
		found := document.Matches(asked[1], asked[2], nil)
		if len(found) == 0 {
			fmt.Fprintln(out, "-")
			continue
		}
		fmt.Fprintln(out, found[0].Status, found[len(found)-1].Status)
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
