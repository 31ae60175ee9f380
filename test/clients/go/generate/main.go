// Generates the stubs of the KServe v2 service. The messages come from the server's reflection; protoc-gen-go and
// protoc-gen-go-grpc, which are beside this program, generate the Go code.
//
// Usage: generate <host:port>, in the folder of the module.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const service = "inference.GRPCInferenceService"

// describe returns the files that declare the service, each after its dependencies.
func describe(address string) ([]*descriptorpb.FileDescriptorProto, error) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	stream, err := reflection.NewServerReflectionClient(connection).ServerReflectionInfo(context.Background())
	if err != nil {
		return nil, err
	}
	question := &reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	}
	if err := stream.Send(question); err != nil {
		return nil, err
	}
	answer, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	found := answer.GetFileDescriptorResponse()
	if found == nil {
		return nil, fmt.Errorf("%s: %v", service, answer.GetErrorResponse())
	}
	byName := map[string]*descriptorpb.FileDescriptorProto{}
	for _, encoded := range found.FileDescriptorProto {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(encoded, file); err != nil {
			return nil, err
		}
		byName[file.GetName()] = file
	}
	var ordered []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(file *descriptorpb.FileDescriptorProto)
	add = func(file *descriptorpb.FileDescriptorProto) {
		if file == nil || seen[file.GetName()] {
			return
		}
		seen[file.GetName()] = true
		for _, needed := range file.Dependency {
			add(byName[needed])
		}
		ordered = append(ordered, file)
	}
	for _, file := range byName {
		add(file)
	}
	return ordered, nil
}

// generate runs a plugin and writes its files.
func generate(plugin string, files []*descriptorpb.FileDescriptorProto) error {
	request := &pluginpb.CodeGeneratorRequest{ProtoFile: files}
	parameters := []string{"paths=source_relative"}
	for _, file := range files {
		request.FileToGenerate = append(request.FileToGenerate, file.GetName())
		parameters = append(parameters, fmt.Sprintf("M%s=tritonts.test/clients/inference", file.GetName()))
	}
	request.Parameter = proto.String(strings.Join(parameters, ","))
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	command := exec.Command(plugin)
	command.Stdin = bytes.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	response := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(output, response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s: %s", plugin, response.GetError())
	}
	if err := os.MkdirAll("inference", 0o755); err != nil {
		return err
	}
	for _, file := range response.File {
		if err := os.WriteFile(filepath.Join("inference", file.GetName()), []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	files, err := describe(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	folder := filepath.Dir(os.Args[0])
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := generate(filepath.Join(folder, plugin), files); err != nil {
			log.Fatal(err)
		}
	}
}
