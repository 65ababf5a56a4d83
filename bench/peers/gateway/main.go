// The peer of npm run bench -- --anchor: repositories over REST and gRPC in idiomatic Go, with grpc-gateway in the server's
// process and a pgx pool. It has no authentication, no events and no audit log.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"gantry.example/bench/peers/gateway/peer"
)

const columns = "uid, name, description, create_time, update_time"

const pageSize = 50

type server struct {
	peer.UnimplementedReposServer
	pool *pgxpool.Pool
}

func scan(row pgx.Row) (*peer.Repo, error) {
	repo := &peer.Repo{}
	var created, updated time.Time
	if err := row.Scan(&repo.Uid, &repo.Name, &repo.Description, &created, &updated); err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, status.Error(codes.NotFound, "repo not found")
		}
		return nil, status.Error(codes.Internal, err.Error())
	}
	repo.CreateTime, repo.UpdateTime = timestamppb.New(created), timestamppb.New(updated)
	return repo, nil
}

func (s *server) GetRepo(ctx context.Context, request *peer.GetRepoRequest) (*peer.Repo, error) {
	return scan(s.pool.QueryRow(ctx, "select "+columns+" from peer_repos where uid = $1", request.Uid))
}

func (s *server) ListRepos(ctx context.Context, request *peer.ListReposRequest) (*peer.ListReposResponse, error) {
	size := int(request.PageSize)
	if size <= 0 {
		size = pageSize
	}
	rows, err := s.pool.Query(ctx, "select "+columns+" from peer_repos where uid > $1 order by uid limit $2", request.After, size+1)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	defer rows.Close()
	response := &peer.ListReposResponse{}
	for rows.Next() {
		repo, err := scan(rows)
		if err != nil {
			return nil, err
		}
		response.Repos = append(response.Repos, repo)
	}
	if err := rows.Err(); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if len(response.Repos) > size {
		response.Repos = response.Repos[:size]
		response.Next = response.Repos[size-1].Uid
	}
	return response, nil
}

func (s *server) CreateRepo(ctx context.Context, request *peer.CreateRepoRequest) (*peer.Repo, error) {
	segment := make([]byte, 8)
	if _, err := rand.Read(segment); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return scan(s.pool.QueryRow(ctx, "insert into peer_repos ("+columns+") values ($1, $2, $3, now(), now()) returning "+columns,
		request.Parent+"/"+hex.EncodeToString(segment), request.Repo.GetName(), request.Repo.GetDescription()))
}

func (s *server) UpdateRepo(ctx context.Context, request *peer.UpdateRepoRequest) (*peer.Repo, error) {
	return scan(s.pool.QueryRow(ctx, "update peer_repos set description = $2, update_time = now() where uid = $1 returning "+columns,
		request.Uid, request.Repo.GetDescription()))
}

func run() error {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("PEER_DATABASE"))
	if err != nil {
		return err
	}
	// A copy of the Gantry server's rows.
	for _, statement := range []string{
		"drop table if exists peer_repos",
		"create table peer_repos (like repos including defaults including indexes)",
		"insert into peer_repos (" + columns + ") select " + columns + " from repos",
		"analyze peer_repos",
	} {
		if _, err := pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	service := &server{pool: pool}
	grpcServer := grpc.NewServer()
	peer.RegisterReposServer(grpcServer, service)
	// The benchmark's clients cannot read chunked responses.
	gateway := runtime.NewServeMux(runtime.WithWriteContentLength())
	if err := peer.RegisterReposHandlerServer(ctx, gateway, service); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", os.Getenv("PEER_LISTEN"))
	if err != nil {
		return err
	}
	grpcListener, err := net.Listen("tcp", os.Getenv("PEER_GRPC_LISTEN"))
	if err != nil {
		return err
	}
	go func() {
		if err := grpcServer.Serve(grpcListener); err != nil {
			log.Fatal(err)
		}
	}()
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/readyz") {
			return
		}
		gateway.ServeHTTP(w, r)
	}))
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
