// Calls a server of KServe v2 over gRPC, unary and streaming. Ends with code 1 if an answer is wrong.
//
// Usage: client <host:port>
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tritonts.test/clients/inference"
)

var right = 0

func check(holds bool, format string, arguments ...any) {
	if !holds {
		log.Fatalf(format, arguments...)
	}
	right++
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func floats(values ...float32) []byte {
	var buffer bytes.Buffer
	_ = binary.Write(&buffer, binary.LittleEndian, values)
	return buffer.Bytes()
}

func readFloats(raw []byte) []float32 {
	values := make([]float32, len(raw)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return values
}

func rows(id string, first float32, count int64) *inference.ModelInferRequest {
	values := make([]float32, 16*count)
	for i := range values {
		values[i] = first + float32(i)
	}
	return &inference.ModelInferRequest{
		ModelName:        "add",
		Id:               id,
		Inputs:           []*inference.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "FP32", Shape: []int64{count, 16}}},
		RawInputContents: [][]byte{floats(values...)},
	}
}

func isNext(answer *inference.ModelInferResponse, asked *inference.ModelInferRequest) bool {
	got, sent := readFloats(answer.RawOutputContents[0]), readFloats(asked.RawInputContents[0])
	if answer.Id != asked.Id || len(got) != len(sent) {
		return false
	}
	for i := range got {
		if got[i] != sent[i]+1 {
			return false
		}
	}
	return true
}

func expect(code codes.Code, err error, what string) {
	check(status.Code(err) == code, "%s: expected %v but got %v", what, code, err)
}

func unary(ctx context.Context, client inference.GRPCInferenceServiceClient) {
	check(must(client.ServerLive(ctx, &inference.ServerLiveRequest{})).Live, "not live")
	check(must(client.ServerReady(ctx, &inference.ServerReadyRequest{})).Ready, "not ready")
	check(must(client.ModelReady(ctx, &inference.ModelReadyRequest{Name: "add", Version: "1"})).Ready, "add is not ready")
	about := must(client.ServerMetadata(ctx, &inference.ServerMetadataRequest{}))
	check(about.Name == "tritonts" && len(about.Extensions) > 0, "server metadata: %v", about)
	model := must(client.ModelMetadata(ctx, &inference.ModelMetadataRequest{Name: "add"}))
	check(model.Inputs[0].Name == "x" && model.Inputs[0].Shape[0] == -1, "model metadata: %v", model)
	config := must(client.ModelConfig(ctx, &inference.ModelConfigRequest{Name: "add"})).Config
	check(config.MaxBatchSize == 8192 && config.Input[0].DataType == inference.DataType_TYPE_FP32, "config: %v", config)
	index := must(client.RepositoryIndex(ctx, &inference.RepositoryIndexRequest{}))
	check(len(index.Models) > 10, "index: %v", index)

	for _, options := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		asked := rows("one", 1, 2)
		check(isNext(must(client.ModelInfer(ctx, asked, options...)), asked), "a wrong answer")
	}
	typed := rows("typed", 1, 1)
	values := readFloats(typed.RawInputContents[0])
	typed.Inputs[0].Contents = &inference.InferTensorContents{Fp32Contents: values}
	typed.RawInputContents = nil
	answer := must(client.ModelInfer(ctx, typed))
	check(readFloats(answer.RawOutputContents[0])[15] == 17, "typed contents: %v", answer)
	large := rows("large", 0, 8192)
	check(isNext(must(client.ModelInfer(ctx, large)), large), "a wrong answer to a large request")
	statistics := must(client.ModelStatistics(ctx, &inference.ModelStatisticsRequest{Name: "add"})).ModelStats[0]
	check(statistics.InferenceStats.Success.Count >= 4 && statistics.InferenceCount >= 8192, "statistics: %v", statistics)

	_, err := client.ModelInfer(ctx, &inference.ModelInferRequest{ModelName: "nobody"})
	expect(codes.NotFound, err, "an unknown model")
	check(strings.Contains(status.Convert(err).Message(), "unknown model"), "its text: %v", err)
	_, err = client.ModelInfer(ctx, &inference.ModelInferRequest{ModelName: "add"})
	expect(codes.InvalidArgument, err, "no inputs")
	_, err = client.ModelInfer(ctx, &inference.ModelInferRequest{ModelName: "count"})
	expect(codes.Unimplemented, err, "a decoupled model")
	traces := must(client.TraceSetting(ctx, &inference.TraceSettingRequest{})).Settings
	check(len(traces["trace_level"].Value) == 1 && traces["trace_level"].Value[0] == "OFF", "trace settings: %v", traces)
	slow := rows("slow", 0, 1)
	slow.ModelName = "slow"
	soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	_, err = client.ModelInfer(soon, slow)
	expect(codes.DeadlineExceeded, err, "a deadline")
	cancel()
	left, leave := context.WithCancel(ctx)
	time.AfterFunc(100*time.Millisecond, leave)
	_, err = client.ModelInfer(left, slow)
	expect(codes.Canceled, err, "a call that was cancelled")
}

func many(ctx context.Context, client inference.GRPCInferenceServiceClient) {
	const workers, each = 64, 50
	var group sync.WaitGroup
	wrong := make(chan string, workers*each)
	for worker := range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range each {
				asked := rows(fmt.Sprint(worker, "-", i), float32(worker*each+i), 1)
				answer, err := client.ModelInfer(ctx, asked)
				if err != nil || !isNext(answer, asked) {
					wrong <- fmt.Sprint(asked.Id, err)
				}
			}
		}()
	}
	group.Wait()
	check(len(wrong) == 0, "%d of many answers were wrong", len(wrong))
}

func streams(ctx context.Context, client inference.GRPCInferenceServiceClient) {
	stream := must(client.ModelStreamInfer(ctx))
	for i := range 1000 {
		check(stream.Send(rows(fmt.Sprint(i), float32(i), 1)) == nil, "request %d cannot be sent", i)
	}
	check(stream.CloseSend() == nil, "the stream cannot be closed")
	for i := range 1000 {
		answer := must(stream.Recv())
		check(isNext(answer.InferResponse, rows(fmt.Sprint(i), float32(i), 1)), "answer %d of the stream: %v", i, answer)
	}
	_, err := stream.Recv()
	check(errors.Is(err, io.EOF), "the end of the stream: %v", err)

	counting := must(client.ModelStreamInfer(ctx))
	ask := func(n uint32, emptyFinal bool) {
		request := &inference.ModelInferRequest{
			ModelName:        "count",
			Inputs:           []*inference.ModelInferRequest_InferInputTensor{{Name: "n", Datatype: "INT32", Shape: []int64{1}}},
			RawInputContents: [][]byte{binary.LittleEndian.AppendUint32(nil, n)},
		}
		if emptyFinal {
			request.Parameters = map[string]*inference.InferParameter{
				"triton_enable_empty_final_response": {ParameterChoice: &inference.InferParameter_BoolParam{BoolParam: true}},
			}
		}
		check(counting.Send(request) == nil, "a request of the decoupled model cannot be sent")
	}
	ask(5, false)
	for i := range uint32(5) {
		answer := must(counting.Recv()).InferResponse
		check(binary.LittleEndian.Uint32(answer.RawOutputContents[0]) == i, "response %d: %v", i, answer)
	}
	ask(0, true)
	empty := must(counting.Recv()).InferResponse
	isFinal := empty.Parameters["triton_final_response"].GetBoolParam()
	check(isFinal && len(empty.Outputs) == 0, "the empty response: %v", empty)
	check(counting.Send(&inference.ModelInferRequest{ModelName: "nobody", Id: "n"}) == nil, "it cannot be sent")
	failed := must(counting.Recv())
	check(failed.ErrorMessage != "" && failed.InferResponse.Id == "n", "an error in the stream: %v", failed)
	ask(1, false)
	check(must(counting.Recv()).ErrorMessage == "", "the stream ends with an error in it")
	check(counting.CloseSend() == nil, "the stream cannot be closed")
	_, err = counting.Recv()
	check(errors.Is(err, io.EOF), "the end of the stream: %v", err)

	strict := must(client.ModelStreamInfer(metadata.AppendToOutgoingContext(ctx, "triton_grpc_error", "true")))
	check(strict.Send(&inference.ModelInferRequest{ModelName: "nobody"}) == nil, "it cannot be sent")
	_, err = strict.Recv()
	expect(codes.NotFound, err, "the first error of a strict stream")
}

func main() {
	size := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32))
	alive := grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute})
	secret := grpc.WithTransportCredentials(insecure.NewCredentials())
	connection := must(grpc.NewClient(os.Args[1], secret, size, alive))
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	serving := must(health.NewHealthClient(connection).Check(ctx, &health.HealthCheckRequest{}))
	check(serving.Status == health.HealthCheckResponse_SERVING, "the health service: %v", serving)
	client := inference.NewGRPCInferenceServiceClient(connection)
	unary(ctx, client)
	many(ctx, client)
	streams(ctx, client)
	fmt.Printf("Go: %d answers are right\n", right)
}
