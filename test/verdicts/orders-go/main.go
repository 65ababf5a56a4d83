// Ranks versions with Go's SemVer library: reads one version per line, writes its rank per line, "-" if invalid. Equal versions
// have the same rank.
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"

	"golang.org/x/mod/semver"
)

var toolchain = regexp.MustCompile(`^(?:go)?(\d+)\.(\d+)(?:\.(\d+))?(beta|rc)(\d+)$`)

// canonical returns a version in the library's form, "" if it has none.
func canonical(version string) string {
	if found := toolchain.FindStringSubmatch(version); found != nil {
		patch := found[3]
		if patch == "" {
			patch = "0"
		}
		version = fmt.Sprintf("%s.%s.%s-%s.%s", found[1], found[2], patch, found[4], found[5])
	}
	if strings.HasPrefix(version, "go") {
		version = version[2:]
	}
	version = "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(version) {
		return ""
	}
	return version
}

func main() {
	var versions []string
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		versions = append(versions, canonical(lines.Text()))
	}
	valid := []string{}
	for _, version := range versions {
		if version != "" {
			valid = append(valid, version)
		}
	}
	sort.Slice(valid, func(i, j int) bool { return semver.Compare(valid[i], valid[j]) < 0 })
	ranks := map[string]int{}
	rank := 0
	for index, version := range valid {
		if index > 0 && semver.Compare(valid[index-1], version) != 0 {
			rank++
		}
		ranks[version] = rank
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, version := range versions {
		if version == "" {
			fmt.Fprintln(out, "-")
		} else {
			fmt.Fprintln(out, ranks[version])
		}
	}
}
